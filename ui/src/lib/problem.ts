import type { TFunction } from 'i18next';
import type { ProblemBody } from '../api/types';
import en from '../i18n/en.json';
import { translateServer } from './serverWords';

export type ProblemKind = 'forbidden' | 'unsupported' | 'error';

export interface ProblemText {
  kind: ProblemKind;
  /** One sentence; in the reader's language when the code is known. */
  title: string;
  /** Operation and resource: "DescribeConfigs · topic orders". */
  subject: string;
  help: string;
}

type KnownCode = keyof typeof en.problems;

function known(code: string): code is KnownCode {
  return code in en.problems;
}

export function problemKind(problem: ProblemBody): ProblemKind {
  if (problem.code.endsWith('_AUTHORIZATION_FAILED')) return 'forbidden';
  return problem.code === 'UNSUPPORTED_VERSION' || problem.code === 'UNSUPPORTED_API'
    ? 'unsupported'
    : 'error';
}

/** A problem in the reader's words. A code nobody translated keeps the server's own sentence. */
export function problemText(problem: ProblemBody, t: TFunction, language: string): ProblemText {
  const { code } = problem;
  return {
    kind: problemKind(problem),
    title: known(code) ? t(`problems.${code}`) : translateServer(problem.title, language),
    subject: [problem.operation, problem.resource].filter(Boolean).join(' · '),
    help: translateServer(problem.help ?? '', language),
  };
}
