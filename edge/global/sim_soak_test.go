//go:build soak

package global

import "testing"

// TestSimulatorSoak runs more seeds, in clusters of up to 50 nodes: -first and -seeds say which.
func TestSimulatorSoak(t *testing.T) { runSeeds(t, 100_001, 4000, scale{false, simSoak}) }

// TestSimulatorSoakMemberlist does so over memberlist.
func TestSimulatorSoakMemberlist(t *testing.T) { runSeeds(t, 200_001, 1000, scale{true, simSoak}) }

// simSoak is the most nodes of a cluster.
const simSoak = 50
