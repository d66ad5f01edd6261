/** The types-only Standard Schema interface, version 1: any zod, valibot or arktype schema fits (https://standardschema.dev). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type InputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input']
export type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']
