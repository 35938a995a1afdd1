// Package config reads headgate.yaml, strictly, and reports all faults at once.
//
//	file ──Read──► bytes ──Parse──► one yaml.Node ──fields──► Config ──check──► Config, nil
//	                 │                 │                    │          or
//	                 └── too large     └── a field, a value └──────────► Faults, sorted
//
// edge/config/document makes the node tree. Turning nodes into values is done here and in
// edge/config/scalar, because the YAML library reads "limit: 010" as 8, "limit: 2.5" as 2, and
// stops looking after the first document.
//
// Nothing here opens a socket, asks for the host name or checks whether a named file exists: the
// caller does. All functions are safe to call concurrently; a Config is a plain value.
package config
