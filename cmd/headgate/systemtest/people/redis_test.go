//go:build !race

package people

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// redisLibraries are the rows of docs/redis.md, each with a program that uses the library as its
// users do, and prints answers.
var redisLibraries = []struct{ row, where, run, program string }{
	{"| redis-cli", "", "redis-cli -p $PORT", `MULTI
CL.THROTTLE redis-cli 2 1 60
PING
EXEC
GET x
`},
	{
		"| redis-py", "/usr/lib/python3/dist-packages/redis", "/usr/bin/python3 -",
		`import os, redis
r = redis.Redis(port=int(os.environ["PORT"]))
p = r.pipeline()
p.execute_command("CL.THROTTLE", "redis-py", 2, 1, 60)
p.ping()
print(*p.execute()[0])
try: r.get("x")
except redis.ResponseError as e: print(e)
`,
	},
	{
		"| node-redis", "/usr/share/nodejs/redis", "node -",
		`const { createClient } = require('redis');
const c = createClient({ url: 'redis://127.0.0.1:' + process.env.PORT });
(async () => {
  await c.connect();
  const throttle = ['CL.THROTTLE', 'node-redis', '2', '1', '60'];
  const [five] = await c.multi().addCommand(throttle).ping().exec();
  console.log(...five);
  await c.get('x').catch((e) => console.log(e.message));
  await c.quit();
})();
`,
	},
}

// TestRedisLibraries: each library that the page names connects, sends a transaction, and hears
// which command is not known.
func TestRedisLibraries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "headgate.yaml")
	port := strconv.Itoa(systemtest.Port(t))
	if err := os.WriteFile(file, []byte(`memory: 16MiB
listen: {udp: "127.0.0.1:0", http: [], admin: "127.0.0.1:0", resp: "127.0.0.1:`+port+`"}
rules: []
`), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &systemtest.Node{TB: t, ID: "redis"}
	n.Launch(exec.Command(systemtest.Binary(t), "serve", "-c", file))
	t.Cleanup(n.Stop)
	n.AwaitDoors()
	page, err := os.ReadFile("../../../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range redisLibraries {
		program := strings.Fields(strings.ReplaceAll(l.run, "$PORT", port))
		if _, err := os.Stat(l.where); l.where != "" && err != nil {
			t.Skip(l.where + " is not installed")
		}
		cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
		cmd.Stdin = strings.NewReader(l.program)
		cmd.Env = append(os.Environ(), "PORT="+port, "NODE_PATH=/usr/share/nodejs")
		out, err := cmd.CombinedOutput()
		said := strings.Join(strings.Fields(string(out)), " ")
		if err != nil || !strings.Contains(said, "0 3 2 -1 60") ||
			!strings.Contains(said, "unknown command 'GET'") {
			t.Errorf("%s: %v: %s", l.row, err, said)
		}
		if !strings.Contains(string(page), "\n"+l.row+" ") {
			t.Errorf("the page has no row %s", l.row)
		}
	}
}
