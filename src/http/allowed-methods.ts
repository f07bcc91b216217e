/** The methods of each path, recorded when routes are added, because Fastify's router does not expose them. */
export class AllowedMethods {
  private readonly routes = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>();

  /** @param url a path in the syntax of the router: `/v2/groups/:id`, `/docs/*` */
  add(url: string, methods: readonly string[]): void {
    const route = this.routes.get(url) ?? { path: patternOf(url), methods: new Set() };
    for (const method of methods) route.methods.add(method);
    this.routes.set(url, route);
  }

  /** Returns the methods of a path in the format of the header `Allow`; undefined if the path is unknown. */
  methodsOf(path: string): string | undefined {
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
