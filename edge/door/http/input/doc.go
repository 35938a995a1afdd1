// Package input reads parameters and JSON bodies into checks and whole requests.
//
//	query ──Query──► Params ──Ask──► gate.Ask        body ──Checks──► []gate.Ask
//	query ──Members──► []Member                      body ──Requests──► [][]Member
//
// It is strict, because a misspelt member must not count as something else: unknown and repeated
// members of a check are problems, and nothing is returned in part. It decodes in place and keeps
// slices of its input.
package input
