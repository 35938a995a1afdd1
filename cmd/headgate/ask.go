package main

import (
	"context"
	"errors"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
)

// ask is a stand-in until the client is there.
func ask(ctx context.Context, to config.Address, q wire.Query) (wire.Answer, error) {
	return wire.Answer{}, errors.New("no client yet")
}
