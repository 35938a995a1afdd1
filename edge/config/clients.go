package config

import (
	"net/netip"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Bounds of clients and sets.
const (
	// each is looked at once for each address of a header
	maxTrusted = 256 // networks in clients.trusted
	// no chain of proxies is as long, and a header of so many addresses is read from the right end
	maxHops = 32
	// larger sets belong into files, which hold up to a million entries and are not parsed as YAML
	maxInline = 10_000 // entries of a set standing in the file itself
)

// clients reads who the client of a request is. A header is believed only from the senders in
// trusted, since anybody can send a header; see request.Clients for the search of the address.
func clients(v value, c *request.Clients) {
	// A header by its name, or any of three words for the ways needing no name: peer, forwarded
	// (RFC 7239), and the default. All in lower case, as from headerName.
	from, path, folds := "x-forwarded-for", "", []request.Folds{c.Folds}
	if !v.fields(clientFields(c, &from, &path, &folds)) {
		return
	}
	c.Raw, c.Folds = path == "raw", 0
	for _, f := range folds {
		c.Folds |= f
	}
	if at, given := v.d.given[join(v.path, "path_fold")]; given && c.Raw && len(folds) > 0 {
		at.fault("stands beside path: raw, which compares paths as they are sent")
	}
	c.Header = from
	switch from {
	case "peer":
		c.From, c.Header = request.FromPeer, ""
	case "forwarded":
		c.From = request.FromForwarded
	case "x-forwarded-for":
		c.From = request.FromForwardedFor
	default:
		c.From = request.FromHeader
	}
	// The hops-th from the right of a single address would be the address for 1 and nothing for
	// more.
	if at := v.d.given[join(v.path, "hops")]; c.Hops > 0 &&
		(c.From == request.FromHeader || c.From == request.FromPeer) {
		at.fault("needs a list: from must be x-forwarded-for or forwarded")
	}
}

func clientFields(c *request.Clients, from, path *string, folds *[]request.Folds) []field {
	return []field{
		leaf("from", set(from, headerName)).like(schema.Text(condition.MaxFieldName),
			"x-forwarded-for", "The header with the address of the client, forwarded, or peer."),
		leaf("trusted", set(&c.Trusted, listOf(maxTrusted, network))).like(
			schema.List(0, maxTrusted, schema.Network()), "[127.0.0.0/8, '::1/128']",
			"The networks of trusted proxies."),
		leaf("hops", number(&c.Hops, 0, maxHops)).like(schema.Whole(0, maxHops), "0",
			"The place of the client from the right; 0: the rightmost that is not trusted."),
		leaf("ipv4", number(&c.IPv4, 8, 32)).like(schema.Whole(8, 32), "32",
			"The bits of an IPv4 address that make a key."),
		leaf("ipv6", number(&c.IPv6, 16, 128)).like(schema.Whole(16, 128), "64",
			"The bits of an IPv6 address that make a key."),
		leaf("path", set(path, oneOf(pathForms, same))).like(schema.Word(pathForms...), "normal",
			"Whether paths are compared in a normal form, or as they are sent."),
		leaf("path_fold", set(folds,
			listOf(len(request.FoldNames), oneOf(request.FoldNames, request.ParseFold)))).like(
			schema.List(0, len(request.FoldNames), schema.Word(request.FoldNames...)), "[slash]",
			"The spellings that the site takes for one path."),
	}
}

var pathForms = []string{"normal", "raw"}

// number returns a reader of a whole number from low to high.
func number(dst *int, low, high int64) func(value) {
	return func(v value) {
		if n, ok := integer(low, high)(v); ok {
			*dst = int(n)
		}
	}
}

// headerName parses the name of a header, or peer, in any case. The name is checked by the rules of
// conditions, as "header.NAME", so the headers of policies are usable here.
func headerName(v value) (string, bool) {
	s, ok := v.text()
	if !ok {
		return "", false
	}
	if _, err := condition.ParseField("header." + s); err != nil {
		v.fault("%v", err)
		return "", false
	}
	return strings.ToLower(s), true
}

// network parses an address or a network.
func network(v value) (netip.Prefix, bool) {
	s, ok := v.text()
	if !ok {
		return netip.Prefix{}, false
	}
	net, err := sets.ParseNet(s)
	if err != nil {
		v.fault("%v", err)
	}
	return net, err == nil
}

// pos returns the place of v.
func (v value) pos() condition.Pos {
	return condition.Pos{Line: v.node.Line, Col: v.node.Column, Path: v.path}
}

// entriesOf calls each for the fields of a mapping whose names are free, at most limit fields.
// Fields are read by way of fields, which finds names given twice; the table is made from the file
// itself, so no name is unknown. A name given twice is in the table once, and fields has the fault.
func (v value) entriesOf(limit int, each func(key, item value)) {
	known := map[string]bool{}
	var table []field
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := v.node.Content[i]
		if !known[key.Value] && len(table) < limit {
			known[key.Value] = true
			at := value{v.d, key, v.path}
			table = append(table, leaf(key.Value, func(item value) { each(at, item) }))
		}
	}
	if len(v.node.Content)/2 > limit {
		v.fault("at most %d are allowed, here are %d", limit, len(v.node.Content)/2)
		return
	}
	v.fields(table)
}

// namedSets reads the named sets. A set without a proper name is left out.
func namedSets(v value) []policy.Set {
	var list []policy.Set
	v.entriesOf(policy.MaxSets, func(key, item value) {
		if key.checkName(key.node.Value, mitigation.MaxRuleName) {
			list = append(list, namedSet(key.node.Value, item))
		}
	})
	return list
}

// The last form given holds, but a second is a fault anyway, reported once for all.
func namedSet(name string, v value) policy.Set {
	s := policy.Set{At: v.pos(), Name: name}
	forms := 0
	form := func(kind policy.SetKind, read func(value)) func(value) {
		return func(v value) {
			s.Kind = kind
			if forms++; forms == 2 {
				v.fault("a set has one of cidr, cidr_file, values, table and table_file")
			}
			read(v)
		}
	}
	ok := v.fields(setFields(&s, form))
	for _, name := range []string{"allow_shrink", "watch"} {
		if at, given := v.d.given[join(v.path, name)]; given && ok && forms > 0 &&
			s.Kind != policy.CIDRFile && s.Kind != policy.TableFile {
			at.fault("is for sets of a file: what stands here is meant")
		}
	}
	if ok && forms == 0 {
		v.fault("is empty: give it one of cidr, cidr_file, values, table and table_file")
	}
	return s
}

// setForm makes read the reader of a form of a set.
type setForm func(kind policy.SetKind, read func(value)) func(value)

func setFields(s *policy.Set, form setForm) []field {
	entry := schema.Text(sets.MaxValue)
	return []field{
		leaf("cidr", form(policy.CIDR, set(&s.Nets, listOf(maxInline, network)))).like(
			schema.List(0, maxInline, schema.Network()), "", "Addresses and networks."),
		leaf("cidr_file", form(policy.CIDRFile, set(&s.File, filePath))).like(paths.shape, "",
			"A file with an address or a network a line."),
		leaf("values", form(policy.Values, set(&s.Entries, listOf(maxInline, setValue)))).like(
			schema.List(0, maxInline, entry), "", "Values, exact or with * at the end."),
		leaf("table", form(policy.Table, func(v value) { s.Entries = table(v) })).like(
			schema.Map(maxInline, entry, entry), "", "Values, each with a tier or a number."),
		leaf("table_file", form(policy.TableFile, set(&s.File, filePath))).like(paths.shape, "",
			"A file with a line VALUE,TIER for each value."),
		leaf("allow_shrink", set(&s.AllowShrink, boolean)).like(schema.Bool(), "false",
			"Whether the file may lose more than half of its entries at once."),
		leaf("watch", set(&s.Watch, duration(time.Second, time.Hour))).like(schema.Duration(), "",
			"How often a changed file is looked for."),
	}
}

// A * at the end makes a prefix; a * elsewhere is itself.
func setValue(v value) (sets.Entry, bool) {
	s, ok := v.text()
	return v.entry(sets.Entry{Value: s}, ok, false)
}

// Entries of files go through the same check at the load.
func (v value) entry(e sets.Entry, ok, isTable bool) (sets.Entry, bool) {
	if !ok {
		return e, false
	}
	if err := sets.CheckEntry(e, isTable); err != nil {
		v.fault("%v", err)
		return e, false
	}
	return e, true
}

// table reads values, each with a word. As in {partner-1: gold, "acme-*": silver}: the value a
// field may have, and the value's tier.
func table(v value) []sets.Entry {
	var list []sets.Entry
	v.entriesOf(maxInline, func(key, item value) {
		word, ok := item.text()
		if e, ok := item.entry(sets.Entry{Value: key.node.Value, Word: word}, ok, true); ok {
			list = append(list, e)
		}
	})
	return list
}
