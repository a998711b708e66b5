// Package bolt keeps a set of sequences in a file of bbolt: what one run produced,
// later runs and other processes know.
//
// A [Set] asks the file about every sequence; a [Corpus] also holds the set in
// memory as a [constraint.Lexicon], for joint draws of new sequences and the
// probability of novelty. Either is the Seen of a novelty.Projector:
//
//	known, err := bolt.OpenCorpus(ctx, "known.db", bolt.Config{})
//	defer known.Close()
//	recipe := novelty.Projector{Seen: known}
//
// # Caveats
//
// Add returns when the operating system has the sequence on its disk: a process
// that is killed, or a machine that loses power, loses nothing that Add has
// acknowledged. That takes a millisecond or more each time; Import puts many
// sequences into the file at a time.
//
// One process at a time has a file open, or any number that only read. Others wait
// and are told.
//
// This is a module of its own, so that the library does not depend on bbolt.
package bolt
