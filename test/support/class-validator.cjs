/** The only export of class-validator that @nestjs/swagger requires; see resolver.cjs. */
exports.getMetadataStorage = () => globalThis.classValidatorMetadataStorage;
