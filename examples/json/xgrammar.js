// Computes masks with @mlc-ai/web-xgrammar, in its non-strict mode. The first line of the input
// holds the vocabulary, and every further line a schema with instances as lists of tokens.
const {createInterface} = require("node:readline"), {readFileSync} = require("node:fs"), {dirname, resolve} = require("node:path")

console.log = console.warn = () => {} // the package reports to the standard output

// The package calls itself an ES module, but its file is a CommonJS module.
const file = resolve("node_modules/@mlc-ai/web-xgrammar/lib/index.js"), made = {exports: {}}
new Function("exports", "module", "require", "__filename", "__dirname", readFileSync(file, "utf8"))(made.exports, made, require, file, dirname(file))
const {GrammarCompiler, GrammarMatcher, TokenizerInfo} = made.exports

// The bytes of a token are written as the letters of a byte-level tokenizer.
const letters = []
for (let b = 0, next = 256; b < 256; b++)
	letters.push(String.fromCodePoint(b > 32 && b < 127 || b > 160 && b !== 173 ? b : next++))

const elapsed = async f => {
	const start = process.cpuUsage()
	const value = await f()
	const {user, system} = process.cpuUsage(start)
	return [value, user + system]
}

async function main() {
	let compiler, end
	for await (const line of createInterface({input: process.stdin})) {
		const x = JSON.parse(line)
		if (!compiler) {
			end = x.end
			const tokens = x.tokens.map((t, i) => end === i ? "<|end|>" : [...Buffer.from(t, "base64")].map(b => letters[b]).join(""))
			compiler = await GrammarCompiler.createGrammarCompiler(await TokenizerInfo.createTokenizerInfo(tokens, "byte_level", false, tokens.length, [end]), false)
			continue
		}
		const answer = {us: [], accepted: []}
		try {
			const [grammar, us] = await elapsed(() => compiler.compileJSONSchema(x.schema, true, undefined, undefined, false))
			answer.compile = us / 1000
			for (const tokens of x.instances) {
				const matcher = await GrammarMatcher.createGrammarMatcher(grammar)
				let all = true
				for (const t of [...tokens, end]) {
					answer.us.push((await elapsed(() => matcher.getNextTokenBitmask()))[1])
					if (!(all = matcher.acceptToken(t))) break
				}
				answer.accepted.push(all)
				matcher.dispose()
			}
			grammar.dispose()
		} catch (e) {
			answer.error = String(e)
		}
		process.stdout.write(JSON.stringify(answer) + "\n")
	}
}

main()
