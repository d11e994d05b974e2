import { expect, it } from 'vitest';
import { formatProperties, parseProperties } from './properties';

it('reads Java properties', () => {
  const text = [
    '# comment',
    '! too',
    'security.protocol=SASL_SSL',
    '  sasl.mechanism : SCRAM-SHA-512',
    'sasl.jaas.config=org.example.Login required \\',
    '    username="svc" \\',
    '    password="a=b:c";',
    'path=C:\\\\keys',
    'umlaut=\\u00e4',
    'empty=',
    'twice=1',
    'twice=2',
  ].join('\n');
  expect(parseProperties(text)).toEqual({
    'security.protocol': 'SASL_SSL',
    'sasl.mechanism': 'SCRAM-SHA-512',
    'sasl.jaas.config': 'org.example.Login required username="svc" password="a=b:c";',
    path: 'C:\\keys',
    umlaut: 'ä',
    empty: '',
    twice: '2',
  });
});

it('writes what it reads', () => {
  const properties = { 'a b': 'x\ny', 'c=d': 'e\\f', g: '********' };
  expect(parseProperties(formatProperties(properties))).toEqual(properties);
});
