// Package networks has a flag an operator sets on a network hold for every key in it: for keys that
// are an address or a smaller network in it, or have such a part. Such flags stand in the flag
// table like any other, under the text of the network, and are found here by a tree, made anew
// whenever an operator's flag changes.
//
//	flag table ──Update──► Flags: by rule, a Table of networks ◄──Find── the decision
//
// Of several networks the smallest decides, and a flag by hand of the key itself before any of
// them.
package networks
