// Package celtest compares the expressions of policies with cel-go, the reference for the language
// that they are a part of. It is a module of its own, so that headgate does not depend on cel-go.
package celtest
