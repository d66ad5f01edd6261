/** The words of a text in lower case; "ё" is written as "е", as people do. */
export function wordsOf(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replaceAll('ё', 'е')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
}

const RUSSIAN_ENDINGS = [
  'иями',
  'ами ями ого его ому ему ыми ими ешь ете ишь ите ать ять еть ить уть ают яют ует уют ила ыла ала ели али или',
  'ах ях ов ев ей ий ый ой ая яя ое ее ые ие ую юю ом ем ам ям ет ют ут ит ат ят ла ло ли ть ти ия ии ию',
  'а я о е ы и у ю ь л й',
].flatMap((line) => line.split(' '))

const ENGLISH_ENDINGS = ['ments', 'ment', 'ings', 'ing', 'ied', 'ies', 'ed', 'es', 'er', 'ly', 's', 'y', 'e']

const STEM_LETTERS_MIN = 4

/** What words of one family have in common, roughly: enough to put "доставка" and "доставки" together. */
export function stemOf(word: string): string {
  if (word.length <= STEM_LETTERS_MIN) return word
  const isCyrillic = /\p{Script=Cyrillic}/u.test(word)
  const base = isCyrillic ? word.replace(/(ся|сь)$/, '') : word
  const ending = (isCyrillic ? RUSSIAN_ENDINGS : ENGLISH_ENDINGS).find(
    (one) => base.endsWith(one) && base.length - one.length >= STEM_LETTERS_MIN,
  )
  return ending === undefined ? base : base.slice(0, -ending.length)
}

const STOP_WORDS = new Set(
  [
    'а без более бы был была были было быть в вам вас ваш ваша ваше ваши во вот все всё вы где да для до его ее если есть',
    'еще же за здесь и из или им их к как какая какие какой ко когда кто ли либо меня мне мной можно мой моя мое мои мы на',
    'над надо нам нас наш не него нее нет но ну о об он она они оно от очень по под подскажите пожалуйста при про с свой себе',
    'скажите со так такой там то того тоже только том ты у уже хочу хотел хотела через что чтобы эта эти это этот я',
    'a about after all am an and any are as at be been but by can could did do does for from had has have he her him his how',
    'i if in into is it its just like me my no not of on or our please she should so some tell than that the their them then',
    'there these they this to up us want was we were what when where which who why will with would you your',
  ].flatMap((line) => line.replaceAll('ё', 'е').split(' ')),
)

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word)
}
