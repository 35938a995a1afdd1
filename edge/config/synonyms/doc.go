// Package synonyms answers names and words that other rate limiters use, in one sentence each on how
// headgate.yaml says the same: rate, burst, allowlist, dry_run, redis.
package synonyms
