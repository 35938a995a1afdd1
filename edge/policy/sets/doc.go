// Package sets holds named lists in the form in which they are searched: networks, values, and
// tables with a word beside each value.
//
//	[]netip.Prefix ──OfNets──► Set ──HasAddress──► bool
//	[]Entry ──OfValues──► Set ──Has, Find──► bool, or the number of the word
//
// Networks become sorted ranges, searched in about log2(ranges) steps. Values become 128 bits of a
// hash under a seed of this process, 20 bytes each whatever their length; so a set cannot be
// listed, and two values are taken for the same with a chance of about 2^-128. Nothing changes
// after it is made, and no search allocates.
package sets
