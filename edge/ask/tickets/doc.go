// Package tickets remembers what requests left to be counted until their responses come.
//
//	record ──Add──► number of a ticket ──Take──► record, once
//	                      └──── First ──► the record that ends first, when there is no room
//
// The numbers cannot be guessed, nothing is allocated, and the memory is fixed.
package tickets
