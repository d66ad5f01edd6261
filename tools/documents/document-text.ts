/** What a Markdown document claims about this repository, read from its text. */

export interface NpmCall {
  readonly script: string
  readonly workspace: string | null
}

/** `npm run X`, `npm start`, `npm test`, each with the workspace it is told. */
export function npmCallsOf(text: string): NpmCall[] {
  return [...text.matchAll(/\bnpm (?:run (?:-s )?([\w:-]+)|(start|test))\b([^\n`;&|]*)/g)].map((match) => ({
    script: (match[1] ?? match[2]) as string,
    workspace: /(?:-w|--workspace)[ =](\S+)/.exec(match[3] ?? '')?.[1] ?? null,
  }))
}

export interface Link {
  readonly path: string
  readonly anchor: string | null
}

/** Links inside the repository. */
export function linksOf(text: string): Link[] {
  return [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] as string)
    .filter((target) => !/^[a-z]+:/i.test(target))
    .map((target) => {
      const [path = '', anchor = null] = target.split('#')
      return { path, anchor }
    })
}

const ROOMS = 'packages|apps|examples|simulators|test|tools|docs|deploy|src|\\.ci'

/** Paths in inline code, from the top of the repository or of the engine. Patterns and placeholders are none. */
export function pathsOf(text: string): string[] {
  return [...prose(text).matchAll(new RegExp(`\`((?:${ROOMS})/[\\w./@-]+)\``, 'g'))].map((match) => match[1] as string)
}

/** As GitHub makes them: lower case, punctuation gone, blanks to hyphens. */
export function anchorsOf(text: string): Set<string> {
  return new Set(
    [...prose(text).matchAll(/^#+ (.*)$/gm)].map((match) =>
      (match[1] as string)
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

export function codeBlocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)\\n\`\`\`$`, 'gm'))].map(
    (match) => match[1] as string,
  )
}

function prose(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, '')
}
