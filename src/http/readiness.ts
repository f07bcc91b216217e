/** How one part of the service does. */
export interface PartState {
  readonly ready: boolean;
  /** What a person wants to know of it. */
  readonly detail?: unknown;
}

/** Whether this process should be sent requests. Each part that can be away registers itself. */
export class Readiness {
  /** Set once, when the process has been asked to stop. */
  stopping = false;
  private readonly parts = new Map<string, () => PartState | Promise<PartState>>();

  /** @param probe answers within seconds; what it throws is the part's state */
  register(name: string, probe: () => PartState | Promise<PartState>): void {
    this.parts.set(name, probe);
  }

  async report(): Promise<{ ready: boolean; parts: Record<string, PartState> }> {
    const states = await Promise.all(
      [...this.parts].map(async ([name, probe]): Promise<[string, PartState]> => {
        try {
          return [name, await probe()];
        } catch (error) {
          return [name, { ready: false, detail: error instanceof Error ? error.message : String(error) }];
        }
      }),
    );
    return { ready: !this.stopping && states.every(([, state]) => state.ready), parts: Object.fromEntries(states) };
  }
}
