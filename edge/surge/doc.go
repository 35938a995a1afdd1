// Package surge finds the common properties of requests by which there are more than usual.
//
// A few whole requests a second are kept as rows of terms: keyed hashes of a field and a value.
// A look compares the rows of now with rows of usual traffic, and finds the conjunction of terms
// explaining the most of the excess and the least of usual traffic. Nothing here denies:
// a finding has a sentence and a policy for a person to apply.
//
// Memory is fixed: 4 MiB. Time and chance are arguments. Texts and addresses are kept for a minute
// at most, and in memory only; usual traffic is hashes alone.
package surge
