package replay

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/headgate-dev/headgate/cmd/headgate/accesslog"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
)

// errNobody is the fault of a line without a peer and a list of addresses.
var errNobody = errors.New("no client: x-forwarded-for is empty, and the format has no peer")

// findClient sets the client of rec as a node under c would: the peer in the log, else the
// first address of the list, from the right, of no trusted proxy.
func findClient(c *request.Clients, rec *accesslog.Record) error {
	peer, known := request.ParseAddress(rec.Client)
	switch {
	case rec.NoPeer && len(rec.Forwarded) <= 1: // "-"
		return errNobody
	case len(rec.Forwarded) == 0 || c.From == request.FromPeer,
		!rec.NoPeer && (!known || !c.Trusts(peer)):
		return nil
	}
	list := bytes.Split(rec.Forwarded, []byte(","))
	for n := len(list) - 1; n >= 0; n-- {
		address, ok := request.ParseAddress(bytes.TrimSpace(list[n]))
		last := n == len(list)-1
		switch {
		case !ok && (last || !rec.NoPeer):
			return nil
		case rec.NoPeer && last && !c.Trusts(address):
			return fmt.Errorf("x-forwarded-for ends with %s, which clients.trusted has not: the "+
				"format names no peer, so it may be a proxy or a visitor", address)
		case ok:
			rec.Client = address.AppendTo(nil)
		}
		hop := len(list) - n
		if !ok || c.Hops > 0 && hop == c.Hops || c.Hops == 0 && !c.Trusts(address) {
			return nil
		}
	}
	return nil
}

// keyer finds the requests about which a policy asks a rule, and the keys.
type keyer struct {
	engine  *policy.Engine
	rule    string
	request request.Request
	result  policy.Result
}

// newKeyer returns the keyer of cfg, whose only policy asks rule.
func newKeyer(cfg *config.Config, rule string) (*keyer, error) {
	e, err := config.LoadPolicies(cfg, [32]byte{})
	return &keyer{engine: e, rule: rule}, err
}

// of returns the key of rec, valid until the next call, and whether the policy asks about rec;
// counted says so only if the response counts as well.
func (k *keyer) of(rec *accesslog.Record, counted bool) (key []byte, ok bool) {
	q := &k.request
	q.Reset(k.engine.Names())
	q.Method = append(q.Method[:0], rec.Method...)
	q.SetTarget(rec.Path, k.engine.Clients())
	if client, ok := request.ParseAddress(rec.Client); ok {
		q.FindClient(k.engine.Clients(), client)
	}
	k.engine.Evaluate(q, &k.result)
	for n := range k.result.N {
		is := &k.result.Questions[n]
		if string(is.Name) != k.rule {
			continue
		}
		if !counted || !is.Later {
			return is.Key, true
		}
		q.Status = rec.Status
		counts, _, _ := k.engine.Settler().Settle(is.Pending, 0, q)
		return is.Key, counts
	}
	return nil, false
}

// nothing returns the error of a replay of logs in which no line could be used.
func (r *replay) nothing() error {
	switch {
	case r.unmatched > 0:
		return fmt.Errorf("none of %d requests is one that the policy of %s counts", r.unmatched,
			r.rule.Name)
	case r.format == accesslog.Auto:
		return errors.New("no request could be read from the logs; the formats are " +
			accesslog.FormatNames())
	}
	return errors.New("no request could be read from the logs")
}
