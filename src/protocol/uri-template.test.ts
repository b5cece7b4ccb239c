import { describe, expect, test } from 'vitest';
import { parseTemplate } from './uri-template.ts';

// The values of RFC 6570, section 3.2, as far as they are strings and lists.
const VALUES = {
  count: ['one', 'two', 'three'],
  dom: ['example', 'com'],
  hello: 'Hello World!',
  half: '50%',
  var: 'value',
  who: 'fred',
  base: 'http://example.com/home/',
  path: '/foo/bar',
  list: ['red', 'green', 'blue'],
  v: '6',
  x: '1024',
  y: '768',
  empty: '',
  nothing: [],
};

describe('expansion', () => {
  test.each([
    ['{var}', 'value'],
    ['{hello}', 'Hello%20World%21'],
    ['{half}', '50%25'],
    ['O{empty}X', 'OX'],
    ['O{undef}X', 'OX'],
    ['O{nothing}X', 'OX'],
    ['{x,y}', '1024,768'],
    ['{x,hello,y}', '1024,Hello%20World%21,768'],
    ['?{x,undef}', '?1024'],
    ['{var:3}', 'val'],
    ['{list}', 'red,green,blue'],
    ['{list*}', 'red,green,blue'],
    ['{+hello}', 'Hello%20World!'],
    ['{+half}', '50%25'],
    ['{base}index', 'http%3A%2F%2Fexample.com%2Fhome%2Findex'],
    ['{+base}index', 'http://example.com/home/index'],
    ['{+path:6}/here', '/foo/b/here'],
    ['{#path,x}/here', '#/foo/bar,1024/here'],
    ['X{#empty}', 'X#'],
    ['{.who,who}', '.fred.fred'],
    ['www{.dom*}', 'www.example.com'],
    ['X{.list}', 'X.red,green,blue'],
    ['{/var,x}/here', '/value/1024/here'],
    ['{/list*,path:4}', '/red/green/blue/%2Ffoo'],
    ['{;x,y,empty}', ';x=1024;y=768;empty'],
    ['{;list*}', ';list=red;list=green;list=blue'],
    ['{?x,y,empty}', '?x=1024&y=768&empty='],
    ['{?list}', '?list=red,green,blue'],
    ['?fixed=yes{&x}', '?fixed=yes&x=1024'],
    ['{&list*}', '&list=red&list=green&list=blue'],
    ['résumé/{var}', 'r%C3%A9sum%C3%A9/value'],
  ])('%s is %s', (template, uri) => {
    expect(parseTemplate(template).expand(VALUES)).toBe(uri);
  });

  test('takes no value from the prototype of what it is given', () => {
    expect(parseTemplate('a{constructor}{toString}').expand({})).toBe('a');
  });

  test('encodes half a surrogate pair as the replacement character', () => {
    expect(parseTemplate('{x}').expand({ x: '\ud800' })).toBe('%EF%BF%BD');
  });
});

describe('matching', () => {
  test.each<[string, string, Record<string, string | string[]> | undefined]>([
    ['file:///{path}', 'file:///a', { path: 'a' }],
    ['file:///{path}', 'file:///a/b', undefined],
    ['file:///{path}', 'file:///', undefined],
    ['file:///{+path}', 'file:///a/b.txt', { path: 'a/b.txt' }],
    ['file:///{path}', 'file:///a%2Fb', { path: 'a/b' }],
    ['file:///{dir}/{name}', 'file:///a%2Fb/c', { dir: 'a/b', name: 'c' }],
    ['file:///{+dir}/{name}', 'file:///a/b/c', { dir: 'a/b', name: 'c' }],
    ['a/{x}', 'b/1', undefined],
    ['a/{x}/c', 'a/1/d', undefined],
    ['a/{x}', 'a/1?q', undefined],
    ['users/{id}', 'users/me@example.com', { id: 'me@example.com' }],
    ['geo:{lat},{lon}', 'geo:1.5,-2', { lat: '1.5', lon: '-2' }],
    ['{a}-{b}', 'x-y-z', { a: 'x', b: 'y-z' }],
    ['m?{x,y}', 'm?1,2', { x: '1', y: '2' }],
    ['m?{x,y}', 'm?1', { x: '1' }],
    ['www{.dom*}', 'www.example.com', { dom: ['example', 'com'] }],
    ['x{/path*}', 'x/a/b%2Fc', { path: ['a', 'b/c'] }],
    ['x{/path*}', 'x', {}],
    ['x{/a,b}', 'x/1', { a: '1' }],
    ['x{/a,b}', 'x/1/2', { a: '1', b: '2' }],
    ['x{/a,b}', 'x/1/2/3', undefined],
    ['x{/a}{/b}', 'x/1/2', { a: '1', b: '2' }],
    ['x{#part}', 'x#a/b', { part: 'a/b' }],
    ['x{;a,b}', 'x;b=2;a', { a: '', b: '2' }],
    ['s{?q,page}', 's?q=a/b&page=2', { q: 'a/b', page: '2' }],
    ['s{?q,page}', 's?page=2', { page: '2' }],
    ['s{?q,page}', 's', {}],
    ['s{?q,page}', 's?', undefined],
    ['s{?q,page}', 's?q=1&other=2', undefined],
    ['s{?q}', 's?q=1&q=2', undefined],
    ['s{?q*}', 's?q=1&q=2', { q: ['1', '2'] }],
    ['s{?q}{&page}', 's?page=2&q=%26', { q: '&', page: '2' }],
    ['s?v=1{&q}', 's?v=1&q=2', { q: '2' }],
    ['s{?q}', 's?q=a%3Db=c', { q: 'a=b=c' }],
    ['{x}/{x}', 'a/a', { x: 'a' }],
    ['{x}/{x}', 'a/b', undefined],
    ['{x:1}/{x}', 'a/abc', { x: 'abc' }],
    ['{x:1}/{x}', 'b/abc', undefined],
    ['{x:2}', 'abc', undefined],
    ['é/{x}', '%c3%a9/1', { x: '1' }],
    ['é/{x}', 'é/ü', { x: 'ü' }],
    ['a/{x}', 'a/%FF', undefined],
    ['a/{x}', 'a/100%', { x: '100%' }],
    ['a', 'a', {}],
    ['a', 'ab', undefined],
    ['', '', {}],
  ])('%s against %s', (template, uri, values) => {
    expect(parseTemplate(template).match(uri)).toEqual(values);
  });

  test('a variable may have any name, also one that objects are born with', () => {
    const values = parseTemplate('a/{__proto__}').match('a/1') ?? {};
    expect(Object.keys(values)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
  });

  test('a URI longer than 8,192 characters matches nothing', () => {
    const template = parseTemplate('a/{+x}');
    expect(template.match(`a/${'b'.repeat(8_190)}`)).toEqual({ x: 'b'.repeat(8_190) });
    expect(template.match(`a/${'b'.repeat(8_191)}`)).toBeUndefined();
  });

  test('thirty-two greedy variables over a URI that almost fits take no more than a pass each', () => {
    const template = parseTemplate(`${Array.from({ length: 32 }, (_, index) => `{+v${String(index)}}a`).join('')}!`);
    expect(template.match('a'.repeat(8_192))).toBeUndefined();
  });
});

describe('parsing', () => {
  test('lists each variable once', () => {
    expect(parseTemplate('{a,b*}/{+a}{?c:3,d.e}').variables).toEqual(['a', 'b', 'c', 'd.e']);
  });

  test.each(['{', '}', 'a}b', '{a', '{}', '{a b}', '{a,}', '{=a}', '{|a}', '{a:0}', '{a:10000}', '{a*b}', '{{a}}', '{.}'])(
    'refuses %s',
    (text) => {
      expect(() => parseTemplate(text)).toThrow(expect.objectContaining({ code: 'usage' }));
    },
  );

  test('refuses more than 2 KiB and more than 32 expressions', () => {
    const limit = expect.objectContaining({ code: 'limit' });
    expect(() => parseTemplate('a'.repeat(2_048))).not.toThrow();
    expect(() => parseTemplate('a'.repeat(2_049))).toThrow(limit);
    expect(() => parseTemplate('{a}'.repeat(32))).not.toThrow();
    expect(() => parseTemplate('{a}'.repeat(33))).toThrow(limit);
  });
});
