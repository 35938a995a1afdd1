// Package demo is `headgate demo`: three nodes and their rings in one process, clients and an attack, and their display.
package demo
