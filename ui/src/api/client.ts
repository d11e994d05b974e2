import createClient from 'openapi-fetch';
import type { paths } from './schema';
import type { ProblemBody } from './types';

/** Where this page was served from, without a slash at the end; the API lies below it. */
export const base = new URL(import.meta.env.BASE_URL, location.origin).href.replace(/\/$/, '');

export const api = createClient<paths>({ baseUrl: base });

// The server takes changes as JSON only, with or without a body: no other site's form can send that.
api.use({
  onRequest({ request }) {
    if (request.method !== 'GET') request.headers.set('Content-Type', 'application/json');
  },
});

/** A failed call: the server's own words, or ours when it did not answer. */
export class Problem extends Error {
  constructor(
    readonly body: ProblemBody,
    readonly status: number,
  ) {
    super(body.title);
    this.name = 'Problem';
  }
}

function isProblem(value: unknown): value is ProblemBody {
  return typeof value === 'object' && value !== null && 'code' in value && 'title' in value;
}

/** Any failure as a Problem. Abort errors pass through: nobody waits for them. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  const detail = error instanceof Error ? error.message : String(error);
  const code =
    error instanceof TypeError && /fetch|network|load failed/i.test(detail)
      ? 'KLAMM_UNREACHABLE'
      : 'PAGE_FAILED';
  return new Problem({ code, title: detail, detail, retriable: true }, 0);
}

/** What an answer outside the API's own shape means, e.g. from a proxy in between. */
export function problemOf(status: number, body: unknown): Problem {
  if (isProblem(body)) return new Problem(body, status);
  const detail = typeof body === 'string' ? body.slice(0, 500) : '';
  return new Problem(
    { code: `HTTP_${status}`, title: `HTTP ${status}`, detail, retriable: status >= 500 },
    status,
  );
}

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of a call, or a thrown Problem. */
export async function unwrap<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    throw toProblem(error);
  }
  if (answer.error !== undefined || !answer.response.ok)
    throw problemOf(answer.response.status, answer.error);
  return answer.data as T;
}
