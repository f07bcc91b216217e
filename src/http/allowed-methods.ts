/** Which methods a path has. Fastify's router does not say, so the routes are written down as they are added. */
export class AllowedMethods {
  private readonly routes = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>();

  /** @param url as the router takes it: `/v2/groups/:id`, `/docs/*` */
  add(url: string, methods: readonly string[]): void {
    const route = this.routes.get(url) ?? { path: patternOf(url), methods: new Set() };
    for (const method of methods) route.methods.add(method);
    this.routes.set(url, route);
  }

  /** The methods of a path, as `Allow` lists them; undefined where there is no such path. */
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
