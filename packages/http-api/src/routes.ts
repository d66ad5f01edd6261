/** Every route of the API, once: the server registers them, the client calls them. */
export const ROUTES = {
  submit: { method: 'POST', path: '/v1/tasks' },
  tasks: { method: 'GET', path: '/v1/tasks' },
  task: { method: 'GET', path: '/v1/tasks/:id' },
  events: { method: 'GET', path: '/v1/tasks/:id/events' },
  cancel: { method: 'POST', path: '/v1/tasks/:id/cancel' },
  resume: { method: 'POST', path: '/v1/tasks/:id/resume' },
  workers: { method: 'GET', path: '/v1/workers' },
  pauses: { method: 'GET', path: '/v1/pauses' },
  deadLetters: { method: 'GET', path: '/v1/dead-letters' },
} as const satisfies Record<string, Route>

export interface Route {
  readonly method: 'GET' | 'POST'
  readonly path: string
}

/** Relative on purpose, so that an API mounted below a base path is reached below it. */
export function relativePath(route: Route, id?: string): string {
  return route.path.slice(1).replace(':id', id === undefined ? '' : encodeURIComponent(id))
}
