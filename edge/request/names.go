package request

// MaxNames is how many header names a Names holds. policies' headers, and those by which the client
// is found
const MaxNames = 80

// Names is a fixed list of header names, in lower case, each with a number from 0. It is safe for
// concurrent use after its last Add. The zero Names holds no name.
// It is asked once for each header of each request, kept or not.
type Names struct {
	list  []string
	table [256]uint8 // by hash, then linear probing; 0: empty, else number + 1
	// Target says that the path or the query is looked at.
	Target bool
}

// Add adds name, given in any case, and returns its number. It reports false where there are
// MaxNames already.
func (n *Names) Add(name string) (number int, ok bool) {
	lower := string(appendLower(nil, []byte(name)))
	if at := n.Index([]byte(lower)); at >= 0 {
		return at, true
	}
	if len(n.list) == MaxNames || lower == "" {
		return -1, false
	}
	n.list = append(n.list, lower)
	at := hashName([]byte(lower))
	// at has 8 bits, and comes round by itself.
	for n.table[at] != 0 {
		at++
	}
	n.table[at] = uint8(len(n.list)) // at most MaxNames
	return len(n.list) - 1, true
}

// Index returns the number of name, given in any case, or -1.
func (n *Names) Index(name []byte) int {
	if n == nil || len(name) == 0 || len(n.list) == 0 {
		return -1
	}
	for at := hashName(name); n.table[at] != 0; at++ {
		number := int(n.table[at]) - 1
		if equalFold(n.list[number], name) {
			return number
		}
	}
	return -1
}

// List returns the names in the order of their numbers. The caller must not change it.
func (n *Names) List() []string { return n.list }

// hashName is cheap and the same for all cases of a name. The table is four times as large as the
// names are many, so a poor hash costs a few comparisons. Length, first, middle and last byte:
// enough for a list an operator writes, and no client chooses the names in it.
func hashName(name []byte) uint8 {
	last := len(name) - 1
	return uint8(len(name))*31 + (name[0]|0x20)*7 + (name[last]|0x20)*3 + (name[last/2] | 0x20)
}

// equalFold reports whether name is lower but for the case of ASCII letters.
func equalFold(lower string, name []byte) bool {
	if len(lower) != len(name) {
		return false
	}
	for i, c := range name {
		if lowerByte(c) != lower[i] {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func appendLower(dst, text []byte) []byte {
	for _, c := range text {
		dst = append(dst, lowerByte(c))
	}
	return dst
}
