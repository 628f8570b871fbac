package ninep

import (
	"os/user"
	"strconv"
	"sync"
)

// nobody stands for an owner whose name this machine does not know.
const nobody = 65534

// maxNames bounds each table of names; beyond it, the table is begun anew.
const maxNames = 1024

// names translates between the numbers of users and groups and their names,
// and remembers the answers, a negative one too. The zero value is ready.
type names struct {
	mu     sync.Mutex
	users  map[uint32]string
	groups map[uint32]string
	uids   map[string]uint32
	gids   map[string]uint32
}

// user is the name of a user, or the number in decimal.
func (n *names) user(uid uint32) string {
	return remember(&n.mu, &n.users, uid, func() string {
		num := strconv.FormatUint(uint64(uid), 10)
		if u, err := user.LookupId(num); err == nil {
			return u.Username
		}
		return num
	})
}

// group is the name of a group, or the number in decimal.
func (n *names) group(gid uint32) string {
	return remember(&n.mu, &n.groups, gid, func() string {
		num := strconv.FormatUint(uint64(gid), 10)
		if g, err := user.LookupGroupId(num); err == nil {
			return g.Name
		}
		return num
	})
}

// uid is the reverse of user.
func (n *names) uid(name string) uint32 {
	return remember(&n.mu, &n.uids, name, func() uint32 {
		if u, err := user.Lookup(name); err == nil {
			return number(u.Uid)
		}
		return number(name)
	})
}

// gid is the reverse of group.
func (n *names) gid(name string) uint32 {
	return remember(&n.mu, &n.gids, name, func() uint32 {
		if g, err := user.LookupGroup(name); err == nil {
			return number(g.Gid)
		}
		return number(name)
	})
}

func number(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nobody
	}
	return uint32(n)
}

// remember looks key up in the table, which it fills with find.
func remember[K comparable, V any](mu *sync.Mutex, table *map[K]V, key K, find func() V) V {
	mu.Lock()
	v, ok := (*table)[key]
	mu.Unlock()
	if ok {
		return v
	}
	v = find()
	mu.Lock()
	defer mu.Unlock()
	if *table == nil || len(*table) >= maxNames {
		*table = make(map[K]V)
	}
	(*table)[key] = v
	return v
}
