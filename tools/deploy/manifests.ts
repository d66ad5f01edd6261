import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Deployment } from 'kubernetes-models/apps/v1/Deployment'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget'
import { Service } from 'kubernetes-models/v1/Service'
import { parse } from 'yaml'
import { DEPLOY, readDeployFile } from './deploy-files.ts'

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

const KINDS: Readonly<Record<string, (manifest: object) => { validate(): void }>> = {
  'apps/v1 Deployment': (manifest) => new Deployment(manifest as ConstructorParameters<typeof Deployment>[0]),
  'policy/v1 PodDisruptionBudget': (manifest) =>
    new PodDisruptionBudget(manifest as ConstructorParameters<typeof PodDisruptionBudget>[0]),
  'v1 Service': (manifest) => new Service(manifest as ConstructorParameters<typeof Service>[0]),
}

/** Every manifest of the folder, by its file's name; the kustomization is none. */
export function readManifests(): ReadonlyMap<string, Manifest> {
  const names = readdirSync(join(DEPLOY, 'kubernetes')).filter((name) => name.endsWith('.yaml'))
  return new Map(
    names
      .filter((name) => name !== 'kustomization.yaml')
      .map((name) => [name, parse(readDeployFile(`kubernetes/${name}`)) as Manifest]),
  )
}

/** Throws what Kubernetes' own schema says is wrong. */
export function validateManifest(manifest: Manifest): void {
  const make = KINDS[`${manifest.apiVersion} ${manifest.kind}`]
  if (make === undefined)
    throw new Error(`The check knows no ${manifest.apiVersion} ${manifest.kind}: add it to KINDS.`)
  make(manifest).validate()
}
