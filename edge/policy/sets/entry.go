package sets

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Entry is a value of a set, and the word beside it in a table. A value of a list may end with *.
type Entry struct{ Value, Word string }

// MaxValue is the longest value of a set, in bytes.
// the longest key
const MaxValue = 256

// CheckEntry reports the fault of a value of a set, or of a table.
func CheckEntry(e Entry, table bool) error {
	plain := strings.TrimSuffix(e.Value, "*")
	switch {
	case e.Value == "":
		return errors.New("the value is empty")
	case len(e.Value) > MaxValue:
		return fmt.Errorf("a value has at most %d bytes, this one has %d", MaxValue, len(e.Value))
	case strings.Contains(plain, "*"):
		return fmt.Errorf("* stands at the end of a value only, not as in %.64q", e.Value)
	case table && !IsWord(e.Word) && (e.Word == "" || e.Word[0] < '0' || e.Word[0] > '9'):
		return fmt.Errorf("the tier beside a value must be 1 to 64 letters, digits, _, . or -, "+
			"not %.64q", e.Word)
	}
	return nil
}

// IsWord reports whether text is [A-Za-z0-9_.-]{1,64}. The same as the name of a rule, as a tier
// becomes part of a name.
func IsWord(text string) bool {
	for i := range len(text) {
		c := text[i]
		letter, digit := c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9'
		if !letter && !digit && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// ParseNet reads an address or a network, such as 192.0.2.1 or 2001:db8::/32. IPv4-mapped addresses
// are IPv4. 10.1.2.3/8 is more often a slip than a wish: the fault says which network it is.
func ParseNet(text string) (netip.Prefix, error) {
	// An address is not tried where a network is written: its fault would be memory for each line
	// of a file.
	if !strings.Contains(text, "/") {
		if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
			a = a.Unmap()
			return netip.PrefixFrom(a, a.BitLen()), nil
		}
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("must be an address or a network such as 192.0.2.0/24, "+
			"not %.64q", text)
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("%.64s is wider than all of IPv4: write an IPv4 "+
				"network", text)
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("%.64s has bits behind its prefix: write %s", text,
			p.Masked())
	}
	return p, nil
}
