/** What the model says next. */
export type Utterance =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'function_call'; readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }
