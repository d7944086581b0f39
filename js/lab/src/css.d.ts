declare module "*.raw.css" {
  const css: string;
  export default css;
}
