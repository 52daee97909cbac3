// node build.mjs          dist/: the package, and all of it in one file whose size is measured
// node build.mjs --tests  build/tests/: the tests, for node --test
// node build.mjs --page FOLDER NAME OUTPUT  a page with everything in it, of FOLDER/NAME.html and FOLDER/NAME.ts
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { minify } from "terser";

const MOST_BYTES = 6000; // of the client without sealing, gzipped
const shared = { bundle: true, format: "esm", target: "es2022", logLevel: "warning", legalComments: "none" };

/** Bundle a module with all that it needs, as small as it gets. */
async function bundled(source) {
  const { outputFiles } = await build({ ...shared, entryPoints: [source], minify: true, write: false });
  return (await minify(outputFiles[0].text, { module: true, ecma: 2020, compress: { passes: 3 } })).code;
}

async function single(source, outfile) {
  const code = await bundled(source);
  writeFileSync(outfile, code);
  const size = gzipSync(code, { level: 9 }).length;
  console.log(`${outfile}: ${size} bytes gzipped`);
  return size;
}

/** Write the page: script and style are inside, and its policy allows these two alone. */
async function page(folder, name, outfile) {
  const digest = (text) => createHash("sha256").update(text).digest("base64");
  const script = (await bundled(`${folder}/${name}.ts`)).replaceAll("</script", "<\\/script");
  const html = readFileSync(`${folder}/${name}.html`, "utf8");
  const style = html.match(/<style>([^]*)<\/style>/)[1];
  const filled = html
    .replace("sha256-SCRIPT", `sha256-${digest(script)}`)
    .replace("sha256-STYLE", `sha256-${digest(style)}`)
    .replace(">SCRIPT<", () => `>${script}<`);
  writeFileSync(outfile, filled);
}

if (process.argv.includes("--page")) {
  await page(...process.argv.slice(-3));
} else if (process.argv.includes("--tests")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = tests.map((name) => `test/${name}`);
  await build({ ...shared, entryPoints, platform: "node", outdir: "build/tests", outExtension: { ".js": ".mjs" } });
} else {
  // For bundlers: module by module, so that they can leave out what is not used. For pages: everything in one file.
  await build({ ...shared, bundle: false, entryPoints: readdirSync("src").map((name) => `src/${name}`), outdir: "dist" });
  const size = await single("src/index.ts", "dist/hushcount.min.js");
  await single("src/sealed.ts", "dist/hushcount-sealed.min.js");
  if (size > MOST_BYTES) {
    console.error(`The client without sealing must have at most ${MOST_BYTES} bytes gzipped.`);
    process.exitCode = 1;
  }
}
