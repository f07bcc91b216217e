/** The methods of each path, recorded as routes are added because Fastify's router does not tell. */
export class AllowedMethods {
  private readonly routes = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>();

  /** @param url in the router's syntax: `/v2/groups/:id`, `/docs/*` */
  add(url: string, methods: readonly string[]): void {
    const route = this.routes.get(url) ?? { path: patternOf(url), methods: new Set() };
    for (const method of methods) route.methods.add(method);
    this.routes.set(url, route);
  }

  /** A path's methods in the form of `Allow`; undefined if there is no such path. */
  of(path: string): string | undefined {
    const methods = [...this.routes.values()].filter((route) => route.path.test(path)).flatMap((r) => [...r.methods]);
    return methods.length > 0 ? [...new Set(methods)].sort().join(', ') : undefined;
  }
}

const patternOf = (url: string): RegExp =>
  new RegExp(
    `^${url
      .split('/')
      .map((part) =>
        part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'),
      )
      .join('/')}$`,
  );
