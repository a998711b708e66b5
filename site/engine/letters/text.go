package letters

// Fine defines groups of characters for [Learn] in which every letter has a hidden state of its
// own.
var Fine = split(" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

// Coarse defines a dozen groups of characters for [Learn]. It suits automata with many states,
// where [Fine] costs too much.
var Coarse = []string{"a", "e", "i", "ou", "nm", "rl", "st", "bcdfgkpqvx", "hjwyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", `"`, " ", "@._-/"}

func split(s string) []string {
	var parts []string
	for _, r := range s {
		parts = append(parts, string(r))
	}
	return parts
}

// English is the text from which the model is estimated by default.
var English = []string{
	"the chain forgets where it began", "a sample is worth more than a guess",
	"the river turns to the left behind the old mill", "nobody had warned the captain about the storm",
	"every letter follows another with some probability", "we walked along the shore until the light was gone",
	"her sister plays the violin in the evening", "the second experiment confirmed what the first had shown",
	"an hour later the snow began to fall again", "there is a small bakery near the station",
	"he reads the paper before the others are awake", "most of the time nothing happens at all",
	"the engine stopped and the boat drifted south", "please leave the window open tonight",
	"a careful measurement takes more than one attempt", "children were running across the yellow field",
	"summer in the mountains is short and bright", "the answer surprised everyone in the hall",
	"three of the letters came back unopened", "she had learned the names of all the stars",
	"Anna Martin Helena Robert Maria Daniel Clara Simon Laura Victor Nora Adrian Julia Oscar Irene Paul Sarah Leon Emma Hugo",
	"Berlin London Madrid Lisbon Vienna Oslo Toronto Lima Dublin Nairobi Turin Geneva Boston Antwerp Seville Riga",
	"Miller Sanders Collins Turner Morgan Bennett Lawson Harper Winters Fielding Marlow Stone Carter Reed Hollis",
	"amber silver violet scarlet olive copper ivory indigo crimson emerald",
	"carpenter gardener teacher sailor painter baker doctor writer singer farmer",
	"anna.miller@example.org", "simon.reed@mail.net", "clara@harper.com", "the-old-mill@example.com", "nora_stone@example.org",
	"2024-03-17 1999-12-31 10 21 32 43 54 65 76 87 98 09 18 27 36 45 50 61 72 83 94",
}
