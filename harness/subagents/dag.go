package subagents

import (
	"fmt"
	"slices"
)

// order checks a graph and returns, for each node, the places of those that it
// depends on. Every error names what is wrong, and a limit that is passed.
func order(nodes []node) (needs [][]int, err error) {
	if len(nodes) > maxTasks {
		return nil, fmt.Errorf("dag has %d nodes; the limit is %d", len(nodes), maxTasks)
	}
	places := map[string]int{}
	for i, n := range nodes {
		if !nameFormat.MatchString(n.ID) {
			return nil, fmt.Errorf("dag node %d: the id %.80q is not 1 to 64 letters, digits, _ and -", i, n.ID)
		}
		if _, twice := places[n.ID]; twice {
			return nil, fmt.Errorf("dag node %d: the id %s is taken", i, n.ID)
		}
		places[n.ID] = i
	}
	needs = make([][]int, len(nodes))
	edges := 0
	for i, n := range nodes {
		if edges += len(n.DependsOn); edges > maxEdges {
			return nil, fmt.Errorf("dag has more than %d edges, the limit (dependsOn of all nodes together)", maxEdges)
		}
		for _, id := range n.DependsOn {
			at, ok := places[id]
			if !ok {
				return nil, fmt.Errorf("dag node %s depends on %.80q, which is no node", n.ID, id)
			}
			if slices.Contains(needs[i], at) {
				return nil, fmt.Errorf("dag node %s depends on %s twice", n.ID, id)
			}
			needs[i] = append(needs[i], at)
		}
	}
	return needs, checkDepth(nodes, needs)
}

// checkDepth refuses a cycle and a chain that is too long. A pass gives each
// node the depth that those before it allow; without a cycle the depths stand
// after as many passes as there are nodes.
func checkDepth(nodes []node, needs [][]int) error {
	depth := make([]int, len(nodes))
	for pass := 0; ; pass++ {
		settled := true
		for i := range nodes {
			d := 1
			for _, n := range needs[i] {
				d = max(d, depth[n]+1)
			}
			if d != depth[i] {
				depth[i], settled = d, false
			}
		}
		if settled {
			break
		}
		if pass > len(nodes) {
			return fmt.Errorf("dag has a cycle: %s depends on itself in the end", nodes[slices.Index(depth, slices.Max(depth))].ID)
		}
	}
	if d := slices.Max(depth); d > maxDepth {
		return fmt.Errorf("dag has a chain of %d nodes; the limit is %d", d, maxDepth)
	}
	return nil
}
