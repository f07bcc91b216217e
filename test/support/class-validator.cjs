/** All that @nestjs/swagger requires of it; see resolver.cjs. */
exports.getMetadataStorage = () => globalThis.classValidatorMetadataStorage;
