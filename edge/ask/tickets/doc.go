// Package tickets remembers what requests left to be counted until their responses come.
//
//	record ──Add──► number of a ticket ──Take──► record, once
//
// The numbers cannot be guessed, nothing is allocated, and the memory is fixed: where it is full the
// oldest ticket goes, and is counted.
package tickets
