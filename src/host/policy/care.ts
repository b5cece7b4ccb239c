// How doubtful cases are read. What cannot be told for sure never allows, and always asks or denies.

/** `strict` in rules that allow, `generous` in those that ask or deny. */
export type Care = 'strict' | 'generous';
