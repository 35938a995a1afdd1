//go:build !linux || !(amd64 || arm64)

package main

import "errors"

var errPlatform = errors.New("the load generator needs Linux on amd64 or arm64")

func runUDP(options) (Report, error)  { return Report{}, errPlatform }
func runHTTP(options) (Report, error) { return Report{}, errPlatform }
