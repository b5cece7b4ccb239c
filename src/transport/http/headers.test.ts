import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../errors.ts';
import { headerSource, serverUrl, targetOf, type HeaderSource } from './headers.ts';

const url = new URL('https://example.com/mcp');
const never = new AbortController().signal;

describe("the user's headers", () => {
  it('are given with their names in lower case', () => {
    expect(headerSource(url, { Authorization: 'Bearer x', 'X-Key': 'a b\tc' })(never)).toEqual({
      authorization: 'Bearer x',
      'x-key': 'a b\tc',
    });
    expect(headerSource(url)(never)).toEqual({});
  });

  it('are refused when they are the transport’s own, in any case', () => {
    for (const name of [
      'Content-Type',
      'CONTENT-LENGTH',
      'host',
      'Accept',
      'Mcp-Session-Id',
      'Last-Event-ID',
      'Transfer-Encoding',
    ]) {
      expect(() => headerSource(url, { [name]: 'x' })).toThrow(`The header "${name}" is set by the transport`);
    }
  });

  it('are refused when they would break out of their line, and the message does not show the value', () => {
    for (const name of ['a b', 'a\r\nb', '', 'é', 'a:']) expect(() => headerSource(url, { [name]: 'x' })).toThrow(/name/);
    for (const value of ['secret\r\nx: y', 'secret\n', 'secret\0', 'sécret', 42 as unknown as string]) {
      expect(() => headerSource(url, { 'x-key': value })).toThrow(
        /^The header "x-key" has a value with a line end, another control character, or one beyond ASCII\. Correct the `headers` setting\.$/,
      );
    }
  });

  it('are asked for each time when they are a function, and checked each time', async () => {
    let count = 0;
    const source = headerSource(url, async () => ({ 'X-Count': String(++count) }));
    expect([await source(never), await source(never)]).toEqual([{ 'x-count': '1' }, { 'x-count': '2' }]);
    await expect(headerSource(url, async () => ({ Host: 'x' }))(never)).rejects.toMatchObject({ code: 'config-invalid' });
  });

  it('are not waited for once the signal aborts', async () => {
    const control = new AbortController();
    const asked = headerSource(url, () => new Promise(() => {}))(control.signal);
    const reason = new ParleyError('aborted', 'enough');
    control.abort(reason);
    await expect(asked).rejects.toBe(reason);
    await expect(headerSource(url, async () => ({}))(control.signal)).rejects.toBe(reason);
  });

  it('pass a ParleyError of the function on and wrap anything else', async () => {
    const fault = new ParleyError('auth-required', 'sign in');
    const failing =
      (error: Error): HeaderSource =>
      () =>
        Promise.reject(error);
    await expect(headerSource(url, failing(fault))(never)).rejects.toBe(fault);
    await expect(headerSource(url, failing(new Error('x')))(never)).rejects.toMatchObject({ code: 'internal' });
  });

  it('include basic authorization from the URL, unless they have their own', () => {
    const withUser = new URL('https://us%40er:p%3Aw%zz@example.com/');
    expect(headerSource(withUser)(never)).toEqual({ authorization: `Basic ${btoa('us@er:p%3Aw%zz')}` });
    expect(headerSource(new URL('https://u:p%3Aw@example.com/'))(never)).toEqual({ authorization: `Basic ${btoa('u:p:w')}` });
    expect(headerSource(withUser, { Authorization: 'Bearer x' })(never)).toEqual({ authorization: 'Bearer x' });
  });
});

describe('the URL of a server', () => {
  it('must be absolute, and http or https', () => {
    for (const bad of ['', '/mcp', 'example.com/mcp', 'ftp://a/', 'javascript:0', 'file:///a']) {
      expect(() => serverUrl(bad)).toThrow(/absolute http or https/);
    }
    expect(serverUrl('http://localhost:3000').href).toBe('http://localhost:3000/');
    expect(serverUrl(new URL('https://a/b#c')).href).toBe('https://a/b');
  });

  it('is shown without user name, password and values of the query', () => {
    expect(targetOf(new URL('https://user:secret@example.com:8443/mcp?key=secret&b=secret2#secret3'))).toBe(
      'https://example.com:8443/mcp?key=…&b=…',
    );
    expect(targetOf(new URL('https://example.com/?secret'))).toBe('https://example.com/?…');
    expect(targetOf(new URL('https://example.com'))).toBe('https://example.com/');
  });
});
