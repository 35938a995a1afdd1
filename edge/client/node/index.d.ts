/** What the daemon says of a question. Times are in seconds, delay is in milliseconds. */
export interface Answer {
  readonly allowed: boolean;
  readonly verdict: 'allow' | 'deny' | 'none';
  readonly rule: string;
  readonly why: string;
  readonly remaining: number | null;
  readonly reset: number | null;
  readonly retry: number | null;
  /** 200, or the status of the denial. */
  readonly status: number;
  readonly ticket: string;
  readonly lease: string;
  readonly delay: number;
  readonly view: string;
  readonly shadow: string;
  /** '' | 'timeout' | 'unreachable' | a code of the line protocol */
  readonly error: string;
  headers(): Record<string, string>;
  body(): string;
}

export interface Options {
  /** host:port; else HEADGATE_ADDR, else 127.0.0.1:4290 */
  address?: string;
  /** milliseconds, 50 by default */
  timeout?: number;
  fail?: 'allow' | 'deny';
  onError?: (error: string) => void;
}

export interface Request {
  path: string | Uint8Array;
  method?: string;
  host?: string;
  client?: string;
  headers?: Record<string, string | string[] | undefined>;
  [field: string]: unknown;
}

export interface FrontOptions {
  /** networks of the proxies in front */
  trusted?: string[];
  /** asked in place of the policies */
  rule?: string;
  key?: (req: any) => string;
  headers?: string[];
  reportHeaders?: string[];
}

export class Headgate {
  constructor(options?: Options);
  check(rule: string, key: string, options?: { cost?: number; tier?: string }): Promise<Answer>;
  peek(rule: string, key: string, options?: { cost?: number }): Promise<Answer>;
  count(rule: string, key: string, options?: { cost?: number }): Promise<Answer>;
  ask(request: Request): Promise<Answer>;
  report(answerOrTicket: Answer | string, of: { status: number; headers?: Record<string, unknown>; cost?: number }): Promise<void>;
  acquire(rule: string, key: string, options?: { cost?: number; lease?: number }): Promise<Answer>;
  release(rule: string, key: string, options?: { lease?: string }): Promise<Answer>;
  settle(rule: string, key: string, delta: number): Promise<Answer>;
  close(): void;
  express(options?: FrontOptions): (req: any, res: any, next: (error?: unknown) => void) => void;
  fastify(options?: FrontOptions): (app: any) => Promise<void>;
}

/** A store for express-rate-limit 7 and 8. */
export class HeadgateStore {
  constructor(hg: Headgate, options: { rule: string });
  localKeys: boolean;
  init(options: any): void;
  increment(key: string): Promise<{ totalHits: number; resetTime: Date | undefined }>;
  get(key: string): Promise<{ totalHits: number; resetTime: Date | undefined } | undefined>;
  decrement(key: string): Promise<void>;
  resetKey(key: string): Promise<void>;
}

export default Headgate;
