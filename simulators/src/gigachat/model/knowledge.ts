import { type Concept, conceptsOf } from '../../language/concepts.ts'
import { isStopWord, stemOf, wordsOf } from '../../language/words.ts'
import { languageOf, spokenLanguage } from './language.ts'
import type { Article } from './prompt.ts'
import type { Reading } from './reading.ts'

const ARTICLES_MAX = 2
const TITLE_WEIGHT = 2
const CONCEPT_WEIGHT = 1.5

// These say that somebody asks about an order, not what; sharing them with an article means little.
const UNTELLING = new Set<Concept>(['order', 'status', 'time'])

/** The articles that answer the question, the best first; those about what `known` already covers are left out. */
export function fittingArticles(
  reading: Reading,
  articles: readonly Article[],
  language: 'ru' | 'en',
  known: ReadonlySet<Concept>,
): Article[] {
  const readable = articles.filter((article) => spokenLanguage(languageOf(article.text)) === language)
  const question = new Set(reading.words.filter((word) => !isStopWord(word) && !/^\d+$/.test(word)).map(stemOf))
  const asked = [...reading.concepts].filter((concept) => !UNTELLING.has(concept) && !known.has(concept))
  // Without a topic left, words that happen to be shared would pull in anything.
  if (asked.length === 0 && known.size > 0) return []
  const scored = readable
    .map((article) => ({ article, score: score(article, question, asked) }))
    .filter(({ score: one }) => one > TITLE_WEIGHT)
    .toSorted((a, b) => b.score - a.score)
  const best = scored[0]?.score ?? 0
  return scored
    .filter(({ score: one }) => one >= best * 0.7)
    .slice(0, ARTICLES_MAX)
    .map(({ article }) => article)
}

function score(article: Article, question: ReadonlySet<string>, asked: readonly Concept[]): number {
  const title = wordsOf(article.title)
  const text = wordsOf(article.text)
  const shared = (words: readonly string[]): number =>
    new Set(words.map(stemOf).filter((stem) => question.has(stem))).size
  const about = (words: readonly string[]): number => {
    const concepts = conceptsOf(words)
    return asked.filter((concept) => concepts.has(concept)).length
  }
  return TITLE_WEIGHT * (shared(title) + CONCEPT_WEIGHT * about(title)) + shared(text) + CONCEPT_WEIGHT * about(text)
}
