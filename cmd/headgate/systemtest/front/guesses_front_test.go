//go:build !race

package front

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// guesser is the client that guesses, and guessesLimit its limit by the recipe.
const (
	guesser      = "203.0.113.66"
	guessesLimit = 5
)

// guess sends a login with headers, and returns the status of the answer.
func (s *frontSite) guess(header ...string) int {
	s.Helper()
	return s.visit(visit{
		method: http.MethodPost, path: "/login", client: guesser,
		header: header,
	}).StatusCode
}

// awaitGuess guesses until the site is reached: a place of an earlier guess ends by the proxy's
// report.
func (s *frontSite) awaitGuess(want int, header ...string) {
	s.Helper()
	edgetest.Await(s, fmt.Sprint("a guess is answered ", want), edgetest.Patience,
		func() bool { return s.guess(header...) == want })
}

// retryAfter returns the seconds for which the guesser is denied; 0: it is not.
func (s *frontSite) retryAfter() (seconds int) {
	s.Helper()
	seconds, _ = strconv.Atoi(s.visit(visit{
		path:   "/token",
		client: guesser,
	}).Header.Get("Retry-After"))
	return seconds
}

// TestRecipeGuessesInTurn: four failures and a login that succeeds set no block; the fifth failure
// sets the recipe's.
func TestRecipeGuessesInTurn(t *testing.T) {
	eachPolicyRecipe(t, "Failed logins only", func(t *testing.T, n *frontNode, s *frontSite) {
		for range guessesLimit - 1 {
			s.awaitGuess(http.StatusUnauthorized)
		}
		s.awaitGuess(http.StatusOK, "X-Password", "right")
		if all := systemtest.Page[api.MitigationsView](n.Node,
			"/v1/mitigations").Mitigations; len(all) > 0 || s.retryAfter() != 0 {
			t.Fatalf("after four failures: %+v", all)
		}
		s.awaitGuess(http.StatusUnauthorized)
		edgetest.Await(t, "the fifth failure blocks", edgetest.Patience,
			func() bool { return s.retryAfter() > 500 })
		if all := systemtest.Page[api.MitigationsView](n.Node,
			"/v1/mitigations").Mitigations; len(all) != 1 || all[0].Action != "block" ||
			all[0].Key != guesser {
			t.Errorf("%+v", all)
		}
		if status := s.guess("X-Password", "right"); status != http.StatusTooManyRequests {
			t.Errorf("a blocked client logs in: %d", status)
		}
	})
}

// TestRecipeGuessesAtOnce: of 200 guesses at once the site meets five. The site answers none of
// them before all others are denied, so that no slower site would meet more.
func TestRecipeGuessesAtOnce(t *testing.T) {
	const guesses = 200
	eachPolicyRecipe(t, "Failed logins only", func(t *testing.T, _ *frontNode, s *frontSite) {
		release := sync.OnceFunc(func() { close(s.held) })
		defer release()
		var denied, failed atomic.Int64
		var all sync.WaitGroup
		for range guesses {
			all.Go(func() {
				switch status := s.guess("X-Held", "yes"); status {
				case http.StatusTooManyRequests:
					denied.Add(1)
				case http.StatusUnauthorized:
					failed.Add(1)
				default:
					t.Errorf("a guess: %d", status)
				}
			})
		}
		edgetest.Await(t, "the others are denied", edgetest.Patience, func() bool {
			return denied.Load()+s.served.Load() >= guesses
		})
		if n := s.served.Load(); n != guessesLimit {
			t.Errorf("%d guesses reached the site", n)
		}
		release()
		all.Wait()
		if denied.Load() != guesses-guessesLimit || failed.Load() != guessesLimit {
			t.Errorf("%d denied, %d failed", denied.Load(), failed.Load())
		}
		edgetest.Await(t, "the failures block", edgetest.Patience,
			func() bool { return s.retryAfter() > 500 })
	})
}
