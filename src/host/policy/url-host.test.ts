import { describe, expect, it } from 'vitest';
import { compileHost } from './url-host.ts';

describe('a rule that allows a host', () => {
  it.each([
    ['good.example', 'https://good.example'],
    ['good.example', 'https://good.example/a?b=c#d'],
    ['good.example', 'http://GOOD.example:80/'],
    ['good.example', 'HTTPS://good.example:443'],
    ['good.example', 'wss://good.example/?@evil.example'],
    ['good.example:8443', 'https://good.example:8443/'],
    ['good.example:*', 'http://good.example:8080/'],
    ['*.good.example', 'https://a.b.good.example/'],
    ['bücher.example', 'https://xn--bcher-kva.example/'],
    ['[::1]', 'http://[::1]/'],
    ['127.0.0.1', 'http://127.0.0.1/'],
    ['*', 'https://anything.example'],
  ])('%s covers %s', (host, url) => {
    expect(compileHost(host, 'strict')(url)).toBe(true);
  });

  it.each([
    'https://good.example.evil',
    'https://evilgood.example',
    'https://sub.good.example',
    'https://good.example@evil.example',
    'https://good.example:x@evil.example',
    'https://user@good.example',
    'https://evil.example#@good.example',
    'https://evil.example/@good.example',
    'https://evil.example?good.example',
    'https://evil.example\\@good.example',
    'https://good.example\\@evil.example',
    'https://good.example\\.evil.example',
    'https://good.example.',
    'https://good.example:8443',
    'https://good.example:',
    'https://good%2eexample',
    'https://good。example',
    'https://ｇood.example',
    'https://go\tod.example',
    'https://good.example/\n',
    ' https://good.example',
    'https:good.example',
    'https:/good.example',
    'https:///good.example',
    '//good.example',
    'good.example',
    'ftp://good.example',
    'javascript://good.example/%0aalert(1)',
    'data:text/html,https://good.example',
    '',
  ])('good.example does not cover %j', (url) => {
    expect(compileHost('good.example', 'strict')(url)).toBe(false);
  });

  it.each([
    ['*.good.example', 'https://good.example/'],
    ['*.good.example', 'https://evilgood.example/'],
    ['127.0.0.1', 'http://2130706433/'],
    ['127.0.0.1', 'http://0x7f.1/'],
    ['127.0.0.1', 'http://127.1/'],
    ['[::1]', 'http://[0:0:0:0:0:0:0:1]/'],
    ['bücher.example', 'https://bücher.example/'],
  ])('%s does not cover %s', (host, url) => {
    expect(compileHost(host, 'strict')(url)).toBe(false);
  });
});

describe('a rule that holds a host back', () => {
  it.each([
    'https://evil.example',
    'https://EVIL.example./x',
    'https://evil.example:8443/',
    'ftp://evil.example/',
    'custom://evil.example/',
    'https://good.example@evil.example',
    'https://evil.example@good.example',
    'https://evil.example\\@good.example',
    'https://good.example\\@evil.example',
    'https://evil%2eexample',
    'https://ev\til.example',
    'https://evil。example',
    '  https://evil.example',
    'https:evil.example',
    'https:///evil.example',
    '//evil.example/x',
    'evil.example',
    'evil.example:443/x',
    'mailto:me@evil.example',
    // What is behind the `:` is a path, or no port.
    'git@evil.example:owner/name',
    'me@evil.example:22:x',
    'https://me@evil.example:99999/',
    'https://good.example@evil.example:80x',
    // What is no URL leads there when it names the host.
    'https://[evil.example',
    'go to Evil.Example now',
  ])('evil.example covers %j', (url) => {
    expect(compileHost('evil.example', 'generous')(url)).toBe(true);
  });

  it.each([
    ['127.0.0.1', 'http://2130706433/'],
    ['127.0.0.1', 'http://0x7f.1/'],
    ['127.0.0.1', '127.1:80'],
    ['[::1]', 'http://[0:0:0:0:0:0:0:1]:9/'],
    ['bücher.example', 'https://bücher.example/'],
    ['evil.example:25', 'http://evil.example:25'],
    ['evil.example:80', 'evil.example/x'],
    ['evil.example:22', 'git@evil.example:owner/name'],
    ['169.254.169.254', 'http://[::ffff:169.254.169.254]/'],
    ['169.254.169.254', 'http://[::ffff:0:a9fe:a9fe]:80/'],
    ['169.254.169.254', 'http://[64:ff9b::169.254.169.254]/'],
    ['169.254.169.254', '[::169.254.169.254]'],
    ['[::ffff:127.0.0.1]', 'http://127.0.0.1/'],
    ['*', 'https://anything.example'],
  ])('%s covers %s', (host, url) => {
    expect(compileHost(host, 'generous')(url)).toBe(true);
  });

  it.each([
    ['evil.example', 'https://good.example/?u=evil.example'],
    ['evil.example', 'https://evil.example.good.example/'],
    ['evil.example', 'https://sub.evil.example/'],
    ['evil.example', 'two words'],
    ['evil.example', 'https://[oops'],
    ['evil.example', ''],
    ['*.evil.example', 'https://evil.example/'],
    ['evil.example:25', 'http://evil.example/'],
    ['127.0.0.1', 'http://[::1]/'],
    ['127.0.0.1', 'http://[2001:db8::7f00:1]/'],
  ])('%s does not cover %s', (host, url) => {
    expect(compileHost(host, 'generous')(url)).toBe(false);
  });
});

it.each(['', '*.', 'a b', 'a/b', 'user@a', 'a*b', '*.*.a', 'http://a', '[::1', 'a:b', '*.1.2.3.4', '*.[::1]', 'a%2eb'])(
  'a host cannot be %j',
  (host) => {
    expect(() => compileHost(host, 'strict')).toThrow(/^is /);
  },
);
