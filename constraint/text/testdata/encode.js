// Encodes the texts of a JSON file with every tokenizer of it by Hugging Face's
// tokenizers (npm install tokenizers), without and with their marks:
//
//	node encode.js FOLDER < tokenizers-and-texts.json > encodings.json
const { Tokenizer } = require(process.argv[2] + '/node_modules/tokenizers');
const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));
(async () => {
  const out = {};
  for (const [name, file] of Object.entries(input.tokenizers)) {
    const t = Tokenizer.fromString(JSON.stringify(file));
    out[name] = [];
    for (const text of input.texts) out[name].push((await t.encode(text, null, { addSpecialTokens: false })).getIds());
  }
  process.stdout.write(JSON.stringify(out));
})();
