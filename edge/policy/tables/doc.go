// Package tables answers which of many conditions hold for a field of a request, by a single look.
//
//	Texts    by equality, and for hosts by domain    a map, skipped where no name has that length
//	Paths    by equality, and by beginnings          a tree over bytes
//	Networks by the ranges that networks divide the addresses into
//
// Each answer is a Bits, a bit a condition, in which conditions that do not look at the field are
// set; the conditions holding for a request are among the AND of the answers for its fields. A
// table is filled by Add, ended by Finish, and does not change afterwards. Finding allocates
// nothing.
package tables
