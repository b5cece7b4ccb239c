// The few string formats that forms and tool schemas are checked for. Each check takes time in proportion to the text, and is
// no stricter than the standard it names: a value is only refused when it cannot be meant.

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-](\d{2}):(\d{2}))$/;
const EMAIL = /^[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)*$/;
const URI = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[^\s%<>"{}|\\^`\p{Cc}]|%[0-9A-Fa-f]{2})*$/u;

export type Format = 'date' | 'date-time' | 'email' | 'uri';

export const FORMATS: Readonly<Record<Format, (text: string) => boolean>> = {
  date: isDate,
  'date-time': isDateTime,
  email: (text) => text.length <= 320 && EMAIL.test(text),
  uri: (text) => URI.test(text),
};

/** A day that exists, as RFC 3339 writes it. */
function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined) return false;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

/** A moment with its offset from UTC; a leap second is allowed. */
function isDateTime(text: string): boolean {
  const [, date, hour, minute, second, offsetHour = '00', offsetMinute = '00'] = DATE_TIME.exec(text) ?? [];
  if (date === undefined || !isDate(date)) return false;
  return Number(hour) < 24 && Number(minute) < 60 && Number(second) <= 60 && Number(offsetHour) < 24 && Number(offsetMinute) < 60;
}
