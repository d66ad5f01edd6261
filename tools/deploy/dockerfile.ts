import { DockerfileParser, type Instruction, ModifiableInstruction } from 'dockerfile-ast'

/** A Dockerfile as its build stages; a stage knows what it inherits from an earlier one. */
export interface Stage {
  readonly name: string
  /** Another stage's name, or an image's. */
  readonly from: string
  readonly instructions: readonly BuildInstruction[]
}

export interface BuildInstruction {
  readonly keyword: string
  /** Flags without their dashes: `from=build`. */
  readonly flags: readonly string[]
  /** Without flags; lines joined. */
  readonly words: readonly string[]
  readonly text: string
  /** What a JSON array held: the exec form. Null for the shell form. */
  readonly exec: readonly string[] | null
}

export function parseDockerfile(text: string): readonly Stage[] {
  const stages: { name: string; from: string; instructions: BuildInstruction[] }[] = []
  for (const parsed of DockerfileParser.parse(text).getInstructions()) {
    const instruction = read(parsed)
    if (instruction.keyword === 'FROM') {
      const [from = '', , name = String(stages.length)] = instruction.words
      stages.push({ name, from, instructions: [] })
    } else {
      const stage = stages.at(-1)
      if (stage === undefined) throw new Error(`${instruction.keyword} stands before the first FROM.`)
      stage.instructions.push(instruction)
    }
  }
  return stages
}

/** Its own instructions after those it inherits, as the image has them. */
export function instructionsOf(stages: readonly Stage[], name: string): readonly BuildInstruction[] {
  const stage = stages.find((each) => each.name === name)
  if (stage === undefined) throw new Error(`The Dockerfile has no stage ${name}.`)
  const isStage = stages.some((each) => each.name === stage.from)
  return [...(isStage ? instructionsOf(stages, stage.from) : []), ...stage.instructions]
}

/** Of several, the last one holds. */
export function lastOf(instructions: readonly BuildInstruction[], keyword: string): BuildInstruction | null {
  return instructions.findLast((instruction) => instruction.keyword === keyword) ?? null
}

function read(parsed: Instruction): BuildInstruction {
  const keyword = parsed.getKeyword()
  const text = withoutFlags((parsed.getRawArgumentsContent() ?? '').replace(/\\\n/g, ' '))
  const flags = parsed instanceof ModifiableInstruction ? parsed.getFlags() : []
  return {
    keyword,
    flags: flags.map((flag) => `${flag.getName()}=${flag.getValue() ?? ''}`),
    words: text.split(/\s+/),
    text,
    exec: execOf(keyword, text),
  }
}

function withoutFlags(text: string): string {
  return text.replace(/^(?:--\S+\s+)*/, '').trim()
}

function execOf(keyword: string, text: string): readonly string[] | null {
  if (!['CMD', 'ENTRYPOINT', 'HEALTHCHECK'].includes(keyword)) return null
  const array = /^(?:CMD\s+)?(\[.*\])$/s.exec(text)?.[1]
  if (array === undefined) return null
  try {
    return JSON.parse(array) as string[]
  } catch {
    // Docker takes a broken array for the shell form, silently.
    return null
  }
}
