// Schemas. Any Standard Schema checks values; its JSON Schema is its own where it has one, and Valibot's is written here.
const aSchema = (s, what) => {
  if (s === undefined) return undefined;
  if (!isObject(s) || typeof s["~standard"]?.validate !== "function") throw new TypeError(what + " must be a Standard Schema, such as one of Valibot or Zod.");
  return s;
};

const jsonSchemas = new WeakMap();
// jsonSchema is what fits a schema, as JSON Schema; {} where that cannot be said.
const jsonSchema = (s) => {
  let known = weakGet(jsonSchemas, s);
  if (known === undefined) weakSet(jsonSchemas, s, (known = convert(s)));
  return known;
};
const convert = (s) => {
  const { vendor, jsonSchema: own } = s["~standard"];
  try {
    if (typeof own?.input === "function") {
      const { $schema, ...rest } = own.input({ target: "draft-2020-12" });
      return rest;
    }
  } catch { return {}; } // such as a date, which JSON has not
  return vendor === "valibot" ? ofValibot(s) : {};
};
// formOf is a schema of an object: what a model is asked for, and what runs are given.
const formOf = (s) => {
  const form = jsonSchema(s);
  return form.type === undefined ? { type: "object", ...form } : form;
};

const optional = ["optional", "exact_optional", "nullish", "undefinedable"];
const ofValibot = (s) => {
  if (s.pipe) {
    const { pipe: inner, ...first } = s.pipe[0];
    const out = ofValibot(inner ? s.pipe[0] : first);
    for (let i = 1; i < s.pipe.length; i++) constrain(out, s.pipe[i]);
    return out;
  }
  switch (s.type) {
    case "string": case "number": case "boolean": case "null": return { type: s.type };
    case "literal": return { const: s.literal };
    case "picklist": case "enum": return { enum: mapped(s.options, (o) => o) };
    case "array": return { type: "array", items: ofValibot(s.item) };
    case "tuple": case "strict_tuple": case "loose_tuple":
      return { type: "array", prefixItems: allOfValibot(s.items), minItems: s.items.length, ...(s.type === "strict_tuple" ? { maxItems: s.items.length } : {}) };
    case "record": return { type: "object", additionalProperties: ofValibot(s.value) };
    case "nullable": case "nullish": return { anyOf: [ofValibot(s.wrapped), { type: "null" }] };
    case "optional": case "exact_optional": case "undefinedable": case "non_optional": case "non_nullish": return ofValibot(s.wrapped);
    case "union": case "variant": return { anyOf: allOfValibot(s.options) };
    case "intersect": return { allOf: allOfValibot(s.options) };
    case "object": case "strict_object": case "loose_object": case "object_with_rest": return ofEntries(s);
  }
  return {};
};
const allOfValibot = (list) => mapped(list, (s) => ofValibot(s));
const ofEntries = (s) => {
  const properties = {}, out = { type: "object", properties };
  const required = filtered(keys(s.entries), (k) => !among(optional, s.entries[k].type));
  entriesOf(s.entries, (k, v) => field(properties, k, ofValibot(v)));
  if (required.length) field(out, "required", required);
  if (s.type === "strict_object") field(out, "additionalProperties", false);
  if (s.type === "object_with_rest") field(out, "additionalProperties", ofValibot(s.rest));
  return out;
};
const constrain = (o, { type, requirement: r, ...action }) => {
  const set = (name, value) => { field(o, name, value); };
  const length = (text, list) => set(o.type === "array" ? list : text, r ?? 1);
  switch (type) {
    case "description": set("description", action.description); break;
    case "title": set("title", action.title); break;
    case "min_length": case "non_empty": length("minLength", "minItems"); break;
    case "max_length": length("maxLength", "maxItems"); break;
    case "length": length("minLength", "minItems"); length("maxLength", "maxItems"); break;
    case "min_value": if (typeof r === "number") set("minimum", r); break;
    case "max_value": if (typeof r === "number") set("maximum", r); break;
    case "multiple_of": if (typeof r === "number") set("multipleOf", r); break;
    case "integer": case "safe_integer": if (o.type === "number") set("type", "integer"); break;
    case "email": set("format", "email"); break;
    case "url": set("format", "uri"); break;
    case "uuid": set("format", "uuid"); break;
    case "iso_date": set("format", "date"); break;
    case "iso_timestamp": set("format", "date-time"); break;
  }
};

const issueOf = ({ message, path }) => ({ message, ...(path?.length ? { path: mapped(path, (p) => (isObject(p) ? p.key : p)) } : {}) });
const issueText = (i) => (i.path ? join(mapped(i.path, String), ".") + ": " : "") + i.message;
// fitting is a value as its schema has parsed it. What does not fit is an error of that type, with the places.
const fitting = async (s, value, type, message, meta) => {
  if (s === undefined) return value;
  const got = await s["~standard"].validate(value);
  if (!got.issues) return got.value;
  const issues = mapped(got.issues, issueOf);
  throw faulty(type, message, { details: join(mapped(issues, issueText), " "), meta: { ...meta, issues } });
};
