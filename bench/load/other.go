//go:build !linux || !(amd64 || arm64)

package main

import (
	"errors"
	"time"
)

var errPlatform = errors.New("the load generator needs Linux on amd64 or arm64")

func runUDP(options) (Report, error)  { return Report{}, errPlatform }
func runHTTP(options) (Report, error) { return Report{}, errPlatform }

func cpuTime() time.Duration { return 0 }
