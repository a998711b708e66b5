import {Panel, $, large} from './panel.js';

const args = v => ({Schema: v.schema, Length: +v.length, Model: v.model, Average: 2 ** v.average, Seed: +v.seed, Samples: 6});
export const panel = new Panel('json', args, update);

export const examples = {
  person: {type: 'object', additionalProperties: false, required: ['name', 'age', 'mail', 'tags'], properties: {
    name: {type: 'string', pattern: '^[A-Z][a-z]{2,8} [A-Z][a-z]{2,10}$'},
    age: {type: 'integer', minimum: 18, maximum: 99},
    mail: {type: 'string', pattern: '^[a-z]{3,10}@[a-z]{3,10}\\.(org|com)$'},
    tags: {type: 'array', items: {enum: ['red', 'green', 'blue']}, maxItems: 3}}},
  order: {type: 'object', additionalProperties: false, required: ['id', 'items', 'paid'], properties: {
    id: {type: 'string', pattern: '^[A-Z]{2}-[0-9]{4}$'},
    items: {type: 'array', minItems: 1, maxItems: 3, items: {type: 'object', additionalProperties: false, required: ['sku', 'n'], properties: {
      sku: {enum: ['bolt', 'nut', 'washer']}, n: {type: 'integer', minimum: 1, maximum: 12}}}},
    paid: {type: 'boolean'}}},
  call: {type: 'object', additionalProperties: false, required: ['tool', 'args'], properties: {
    tool: {const: 'search'}, args: {type: 'object', additionalProperties: false, required: ['query', 'limit'], properties: {
      query: {type: 'string', pattern: '^[a-z]+( [a-z]+){1,4}$', maxLength: 40}, limit: {enum: [5, 10, 20]}}}}},
  tree: {$ref: '#/$defs/node', $defs: {node: {type: 'object', additionalProperties: false, required: ['n'], properties: {
    n: {type: 'integer', minimum: 0, maximum: 9}, next: {type: 'array', items: {$ref: '#/$defs/node'}}}}}},
};
panel.enter = q => {
  const schema = panel.form.elements.schema;
  schema.defaultValue = JSON.stringify(examples[q.get('example')] ?? examples.person, null, 1);
  panel.fill(q);
};

async function update() {
  const a = args(panel.values);
  const {reply: r} = await panel.engine.call('json', a);
  $('json-count').textContent = r.Count ? large(r.Count) : `2^${r.Bits.toFixed(1)}`;
  const how = {uniform: 'Each is as likely as any other.', text: 'Strings follow the letters of an English text.', frequencies: 'Characters have the frequencies of an English text: the schema nests without bound.'}[r.Drawn];
  $('json-note').textContent = `${r.Count === '1' ? 'document is' : 'documents are'} valid and at most ${a.Length} characters long (${r.Bits.toFixed(1)} bits). ${how} The draws have an entropy of ${r.Estimated ? 'about ' : ''}${r.Entropy.toFixed(1)} bits.`;
  $('json-samples').replaceChildren(...r.Samples.map(s => {
    const li = document.createElement('li');
    li.textContent = s;
    return li;
  }));
  $('json-facts').textContent = `${r.States} states, ${r.MS.toFixed(0)} ms. Digest of the draws: ${r.Digest}`;
}
